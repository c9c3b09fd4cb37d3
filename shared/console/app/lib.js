// What the console uses of its npm packages, which devserver/browsertest pins.
import { h } from "preact";
import htm from "htm";
export { h, render, createContext } from "preact";
export { useEffect, useLayoutEffect, useRef, useState, useMemo, useCallback, useErrorBoundary, useId } from "preact/hooks";
export { signal, computed, effect, batch, useSignal, useComputed } from "@preact/signals";

/** @template T @typedef {import("@preact/signals").Signal<T>} Signal */

export const html = /** @type {(strings: TemplateStringsArray, ...values: any[]) => import("preact").VNode<any>} */ (htm.bind(h));
