// A library read with another kind of WeakMap. The collector looks through all that a WeakMap has again and again until it finds nothing
// more, while everybody waits: 500,000 dates of temporal-polyfill, each in a WeakMap, took 450 to 730 ms of one collection, and three
// times as long to make as they do here.

/** What WeakMap does, for keys that can be extended: each value is a hidden member of its key. */
class PropertyWeakMap<Value> {
  readonly #member = Symbol('value')

  get(key: object): Value | undefined {
    return (key as Record<symbol, Value | undefined> | undefined)?.[this.#member]
  }

  has(key: object): boolean {
    return typeof key === 'object' && key !== null && Object.hasOwn(key, this.#member)
  }

  set(key: object, value: Value): this {
    Object.defineProperty(key, this.#member, { value, writable: true, configurable: true })
    return this
  }

  delete(key: object): boolean {
    return this.has(key) && Reflect.deleteProperty(key, this.#member)
  }
}

/** Reads a library at once. Every WeakMap that it makes while it is read is a `ValuesOnKeys`. */
export function loadWithPropertyWeakMap<Library>(read: () => Library): Library {
  const { WeakMap: own } = globalThis
  globalThis.WeakMap = PropertyWeakMap as unknown as typeof WeakMap
  try {
    return read()
  } finally {
    globalThis.WeakMap = own
  }
}
