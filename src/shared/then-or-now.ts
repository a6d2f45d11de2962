/** Continues with a value: at once if it is there, and otherwise when its promise has settled. */
export function thenOrNow<T, To>(value: T | Promise<T>, next: (value: T) => To | Promise<To>): To | Promise<To> {
  return value instanceof Promise ? value.then(next) : next(value)
}
