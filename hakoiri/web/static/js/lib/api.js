// Requests to the server. Every failure is an Error with a readable message; its `status` is that of the answer, `gone`
// says that there was none.

const BASE = "api/";
// Seconds between two polls of an answer that is being computed.
const PAUSE = 0.5;

/**
 * A path under /api; `words` are escaped; `query` may contain lists, and nulls, which are left out.
 * @param {string[]} words @param {Object<string, any>} query
 */
export function address(words, query = {}) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") found.append(name, one);
    }
  }
  const asked = found.toString();
  return BASE + words.map(encodeURIComponent).join("/") + (asked ? `?${asked}` : "");
}

// An answer, whatever its status. A server that was started anew has another token: its page asks for it, and leads
// back to this address.
async function fetched(url, options) {
  const answer = await fetch(url, options).catch(error => {
    const words = "the server does not answer; is hakoiri serve still running?";
    throw Object.assign(new Error(words, {cause: error}), {gone: true});
  });
  if (answer.status !== 401) return answer;
  location.reload();
  return new Promise(() => {});
}

async function ask(method, url, body, headers = {}) {
  const typed = body === undefined ? headers : {"Content-Type": "application/json", ...headers};
  const answer = await fetched(url,
    {method, headers: typed, body: body === undefined ? undefined : JSON.stringify(body)});
  if (!answer.ok) throw await problem(answer);
  return answer;
}

// The answer with a file of the page.
export const file = url => ask("GET", url);

// The problem details of RFC 9457: what is wrong, and the next step.
async function problem(answer) {
  const found = await answer.json().catch(() => ({}));
  const faults = found.faults?.map(({at, fault}) =>
    `The ${at.split(".").at(-1)} is not valid: ${fault[0].toLowerCase()}${fault.slice(1)}.`);
  const detail = faults?.join(" ") ?? (typeof found.detail === "string" ? found.detail : found.title);
  const serve = found.hints?.find(hint => hint.do === "serve with");
  return Object.assign(new Error([detail, serve?.text].filter(Boolean)
    .join("; ") || `the server answers ${answer.status}`), {status: answer.status});
}

export const sleep = seconds => new Promise(resolve => { setTimeout(resolve, seconds * 1000); });

// A promise that the page is seen: none asks or listens in a hidden tab, as a browser has six connections to a server.
export const seen = () => (!document.hidden ? Promise.resolve()
  : new Promise(resolve => { document.addEventListener("visibilitychange", resolve, {once: true}); }));

// A module of the page. It cannot be fetched or run after an upgrade of the server, which has others.
export const part = load => load().catch(async error => {
  const page = await (await ask("GET", "./")).text();
  const same = page.includes(new URL("..", import.meta.url).pathname.slice(1));
  const [title, words] = same ? ["This page is not complete", error.message]
    : ["Hakoiri was upgraded", "This page is of the version before; reload it."];
  throw Object.assign(new Error(words, {cause: error}), {title});
});

// Fetches an existing answer in the `form` json, or arrayBuffer for a file.
export const get = async (words, query, form = "json") => (await ask("GET", address(words, query)))[form]();

// Waits for the end of a question or run, whose status is at a URL.
async function ended(found, url, waiting) {
  while (found.status === "running" || found.status === "queued") {
    waiting(found);
    await sleep(PAUSE);
    await seen();
    found = await (await ask("GET", url)).json();
  }
  return found;
}

// Requests an answer that may take long, and waits for it. `waiting` is called with its progress: {question, headline}
// of a process, or the status of a run. If a run ended without the diameter, `bounds` of the error are what it proved.
export async function compute(words, query, {waiting = () => {}, form = "json"} = {}) {
  const answer = await ask("POST", address(words, query));
  if (answer.status !== 202) return answer[form]();
  const found = await ended(await answer.json(), answer.headers.get("Location"), waiting);
  if (found.status === "answered" && form === "json") return found.answer;
  if (found.status === "answered" || found.status === "complete") return get(words, query, form);
  throw Object.assign(new Error(found.reason || `it is ${found.status}`), {bounds: found.diameter});
}

// The health of the service, also if it is not ok.
export const health = async () => (await fetched(address(["health"]))).json();
export const post = async (words, body, headers) => (await ask("POST", address(words), body ?? {}, headers)).json();

// Makes a run and waits until it is no longer under way. With the same key, the request by default, it is the run that
// was made before.
export async function made(asked, waiting = () => {}, key = JSON.stringify(asked)) {
  const sum = [...key].reduce((found, letter) => (Math.imul(found, 31) + letter.codePointAt(0)) >>> 0, 7);
  const run = await post(["runs"], asked, {"Idempotency-Key": `page ${sum} ${encodeURIComponent(key).slice(0, 150)}`});
  return ended(run, address(["runs", run.run]), waiting);
}

/**
 * Hears the events of a run while the page is seen: `acts` by the names of events. `lost` is called when the stream
 * breaks, with the error if the server refuses it. Returns a function that ends this.
 * @param {string} run @param {Object<string, (found: any) => void>} acts
 * @param {(error: (Error & {status?: number, gone?: boolean}) | null) => void} lost
 */
export function follow(run, acts, lost) {
  let source = null;
  let over = false;
  const close = () => {
    source?.close();
    source = null;
  };
  const listen = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(address(["runs", run, "events"]));
    for (const [name, act] of Object.entries(acts)) {
      source.addEventListener(name, event => act(event.data && JSON.parse(event.data)));
    }
    source.addEventListener("error", failed);
  };
  // A browser tries again by itself, unless the server answers with an error.
  async function failed() {
    lost(null);
    if (source?.readyState !== EventSource.CLOSED) return;
    close();
    await get(["runs", run]).catch(error => { lost(error); over ||= error.status < 500; });
    await sleep(1);
    listen();
  }
  const turn = () => (document.hidden ? close() : listen());
  document.addEventListener("visibilitychange", turn);
  listen();
  return () => {
    over = true;
    document.removeEventListener("visibilitychange", turn);
    close();
  };
}

export const remove = words => ask("DELETE", address(words));
