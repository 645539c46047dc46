// Addresses after the #: #/runs/NAME/board?at=CONF. The text of a configuration stays readable in it.

// {path: ["runs", "NAME", "board"], query: {at: "CONF"}}
export function parsed(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: Object.fromEntries(new URLSearchParams(query.replaceAll("+", "%2B"))),
  };
}

export function address(path, query = {}) {
  const asked = Object.entries(query)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2F|40|2C)/g, decodeURIComponent)}`)
    .join("&");
  return `#/${path.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}`;
}

// The address changes, the page stays: for what a page shows already. A page or view that was left notes nothing.
export function note(path, query) {
  const here = parsed(location.hash).path;
  if (here[0] === path[0] && (path[0] !== "runs" || here[2] === path[2])) history.replaceState(null, "", address(path, query));
}

export const go = (path, query) => {
  location.hash = address(path, query);
};
