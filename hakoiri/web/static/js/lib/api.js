// Questions to the server. Whatever goes wrong is an Error whose message is a sentence for people.

const BASE = "api/";

// A path under /api; what is in `words` is escaped, `query` may hold nulls, which are left out, and lists.
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

async function ask(method, url, body, options = {}) {
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers: body === undefined ? {} : {"Content-Type": "application/json"},
      body: body === undefined ? undefined : JSON.stringify(body),
      ...options,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer; is hakoiri serve still running?", {cause: error});
  }
  if (!answer.ok) throw await problem(answer);
  return answer;
}

// The problem details of RFC 9457: what is wrong, and the next step.
async function problem(answer) {
  const found = await answer.json().catch(() => ({}));
  const detail = typeof found.detail === "string" ? found.detail : found.title;
  const error = new Error(detail || `the server answers ${answer.status}`);
  error.status = answer.status;
  return error;
}

export const get = async (words, query, options) => (await ask("GET", address(words, query), undefined, options)).json();

export const post = async (words, body) => (await ask("POST", address(words), body ?? {})).json();

export const remove = words => ask("DELETE", address(words));
