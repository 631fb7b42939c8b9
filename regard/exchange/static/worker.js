// Keeps the page, so that an installed app opens without a network.
const PREFIX = "regard-page-{{name}}-", NAME = PREFIX + "{{digest}}";
self.addEventListener("install", (event) => event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(["{{page}}"]))));
self.addEventListener("activate", (event) => event.waitUntil(caches.keys().then(
  (names) => Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== NAME).map((name) => caches.delete(name))))));
self.addEventListener("fetch", (event) => event.respondWith(caches.match(event.request).then((kept) => kept ?? fetch(event.request))));
