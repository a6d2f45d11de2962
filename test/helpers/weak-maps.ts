// Counts the additions to the WeakMaps of this process.

/** Returns how often an entry was added to a WeakMap during `work`. */
export async function putIntoWeakMaps(work: () => unknown): Promise<number> {
  const { set } = WeakMap.prototype
  let count = 0
  WeakMap.prototype.set = function <Key extends WeakKey, Value>(this: WeakMap<Key, Value>, key: Key, value: Value) {
    count++
    return set.call(this, key, value) as WeakMap<Key, Value>
  }
  try {
    await work()
  } finally {
    WeakMap.prototype.set = set
  }
  return count
}
