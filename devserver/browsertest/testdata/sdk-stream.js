// An application that hears of changes over the SDKs' event stream: each event is
// printed as a line of JSON. Its arguments are the address and a secret key.
import { EventSource } from "eventsource";

const [address, key] = process.argv.slice(1);
const authorization = "Basic " + Buffer.from("1:" + key).toString("base64");
const stream = new EventSource(address, {
  fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, authorization } }),
});
stream.onmessage = ({ data, lastEventId }) => console.log(JSON.stringify({ id: lastEventId, configs: JSON.parse(data).configs }));
stream.onerror = ({ message, code }) => console.error("stream:", code, message);
