// Removes objects one by one. An object that cannot be removed does not keep the others.

/** Returns how many objects were removed. @throws the first error, after all removals were tried */
export async function removeEach(keys: readonly string[], remove: (key: string) => Promise<boolean>): Promise<number> {
  const faults: unknown[] = []
  let removed = 0
  for (const key of keys)
    try {
      if (await remove(key)) removed += 1
    } catch (error) {
      faults.push(error)
    }
  if (faults.length > 0) throw faults[0]
  return removed
}
