// Loads a library with another kind of WeakMap. The garbage collector scans WeakMaps repeatedly and blocks meanwhile: with 500,000 dates of
// temporal-polyfill, each in a WeakMap, one collection took 450 to 730 ms. Making the dates took three times as long as here.

/** A WeakMap for extensible keys: each value is a hidden member of its key. */
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

/** Loads a library synchronously. Every WeakMap that it makes meanwhile is a `PropertyWeakMap`. */
export function loadWithPropertyWeakMap<Library>(read: () => Library): Library {
  const { WeakMap: own } = globalThis
  globalThis.WeakMap = PropertyWeakMap as unknown as typeof WeakMap
  try {
    return read()
  } finally {
    globalThis.WeakMap = own
  }
}
