// Members of records from outside, under any name.

/** Gives a record a member of its own. Plain assignment to `__proto__` would change the prototype. */
export function setOwnProperty(record: object, key: string | number, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(record, key, { value, enumerable: true, writable: true, configurable: true })
  else (record as Record<string | number, unknown>)[key] = value
}
