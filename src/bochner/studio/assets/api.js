// Requests to the studio's own server; what it refuses is told in its own sentence.

export class Refused extends Error {}

const GONE = "The studio does not answer. Look whether bochner studio still runs in its terminal; start it again if not, and reload this page. Nothing of your project is lost.";

async function ask(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/${path}`, options);
  } catch {
    throw new Refused(GONE);
  }
  const found = await response.json().catch(() => null);
  if (!response.ok) throw Object.assign(new Refused(sentence(found, response.status)), { status: response.status });
  return found;
}

function sentence(found, status) {
  return typeof found?.error === "string" ? found.error : `The studio answered with an error (${status}) and no words. Its terminal may say more.`;
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);
export const put = (path, body = {}) => ask("PUT", path, body);
export const remove = (path) => ask("DELETE", path);

// One file as it is; `progress` hears the share that has arrived.
export function upload(project, file, progress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/projects/${encodeURIComponent(project)}/files?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => {
      let found = null;
      try { found = JSON.parse(request.responseText); } catch { /* told below */ }
      if (request.status < 300) resolve(found);
      else reject(new Refused(sentence(found, request.status)));
    });
    request.addEventListener("error", () => reject(new Refused(GONE)));
    request.send(file);
  });
}

// What becomes of a fit, or of one of its jobs: `heard` gets every new state; the promise resolves with the last one.
// `path` is that of the fit; its stream tells of its jobs too.
export function follow(path, heard, job = null) {
  const pick = (fit) => (job === null ? fit : (fit.jobs ?? []).find((one) => one.id === job) ?? { status: "lost" });
  return new Promise((resolve, reject) => {
    const source = new EventSource(`/api/${path}/events`);
    source.addEventListener("message", (event) => {
      const found = pick(JSON.parse(event.data));
      heard(found);
      if (!isOpen(found)) {
        source.close();
        resolve(found);
      }
    });
    source.addEventListener("error", () => {
      source.close();
      poll(path, pick, heard).then(resolve, reject);
    });
  });
}

async function poll(path, pick, heard) {
  for (;;) {
    const found = pick(await get(path));
    heard(found);
    if (!isOpen(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}

export const isOpen = (one) => one.status === "queued" || one.status === "running";
