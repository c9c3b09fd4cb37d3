// What the console uses of its npm packages, which devserver/browsertest pins.
export { render, createContext } from "preact";
export {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useMemo,
  useCallback,
  useErrorBoundary,
  useId,
} from "preact/hooks";
export { signal, computed, effect, batch, useSignal, useComputed } from "@preact/signals";
export type { Signal } from "@preact/signals";
