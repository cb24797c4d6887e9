// Starts the viewer in the page. Nothing here asks anything of another machine, and nothing that is
// loaded here may: requests to any other address are refused before they are made. The
// header of the page makes the browser refuse them as well.

const allowed = (request) => {
  const url = new URL(request instanceof Request ? request.url : request, location.href);
  return ["blob:", "data:"].includes(url.protocol) || url.origin === location.origin;
};
const fetchHere = window.fetch.bind(window);
window.fetch = (request, options) =>
  allowed(request) ? fetchHere(request, options) : Promise.reject(new TypeError("it would leave this page"));
navigator.sendBeacon = () => false;

const say = (text) => {
  const word = document.getElementById("word");
  word.textContent = text;
  word.hidden = !text;
};

window.addEventListener("load", async () => {
  try {
    await wasm_bindgen({ module_or_path: "re_viewer_bg.wasm" });
    const query = new URLSearchParams(location.search);
    const viewer = new wasm_bindgen.WebHandle({
      url: [new URL("run.rrd", location.href).href],
      render_backend: query.get("renderer"),
      hide_welcome_screen: true,
      enable_history: false,
      // Every run comes with its own layout; that of the last one must not linger.
      persist: false,
    });
    await viewer.start(document.getElementById("canvas"));
    say("");
    window.viewer = viewer;
    const watch = setInterval(() => {
      if (viewer.has_panicked()) {
        clearInterval(watch);
        say("The viewer has failed: " + viewer.panic_message());
      }
    }, 1000);
  } catch (error) {
    say("The viewer could not be started: " + error + ". Try ?renderer=webgl behind the address.");
  }
});
