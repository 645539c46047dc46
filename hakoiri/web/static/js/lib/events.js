// What a run says while it lives: server-sent events. A dropped stream goes on by itself after the last event heard.

// `heard` has a function for each name of event, `lost` is told whether the server is gone; returns what ends the stream.
export function follow(run, heard, lost) {
  const source = new EventSource(`api/runs/${encodeURIComponent(run)}/events`);
  for (const [name, listener] of Object.entries(heard)) {
    source.addEventListener(name, event => listener(JSON.parse(event.data)));
  }
  source.addEventListener("error", () => lost(true));
  source.addEventListener("open", () => lost(false));
  return () => source.close();
}
