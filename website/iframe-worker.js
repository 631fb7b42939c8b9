// A Worker for pages opened from a folder, where browsers allow none: its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.answer(data);
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = address;
        script.onload = resolve;
        script.onerror = reject;
        inside.document.head.append(script);
      });
    }
    answer(data) {
      const event = new MessageEvent("message", { data: structuredClone(data) }); // a Worker shares no objects
      this.onmessage?.(event);
      this.dispatchEvent(event);
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      const copy = structuredClone(data);
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data: copy })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
