// Browsers refuse web workers to pages that are opened from disk, and the search of the
// theme runs in one. There, and only there, a hidden frame takes the place of the worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.loaded = new Promise((resolve) => {
        const start = () => {
          const frame = document.createElement("iframe");
          frame.hidden = true;
          document.body.append(frame);
          const inner = frame.contentWindow;
          inner.postMessage = (data) =>
            this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inner.document.createElement("script");
          script.src = url;
          script.onload = () => resolve(inner);
          inner.document.body.append(script);
        };
        if (document.body) start();
        else addEventListener("DOMContentLoaded", start);
      });
    }

    postMessage(data) {
      this.loaded.then((inner) =>
        inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
