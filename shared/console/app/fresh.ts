// Asks for something of this machine again and again.
import { useEffect } from "./lib";
import { refresh } from "./workspace";

/** Has what is shown asked again every few seconds: nothing tells of it. */
export function useFresh() {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && refresh(), 3000);
    return () => clearInterval(timer);
  }, []);
}
