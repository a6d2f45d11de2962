// Removes objects one after the other: one that cannot be removed keeps no others.

/**
 * Gives how many were removed.
 * @throws what the first one that failed threw, when all have been tried
 */
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
