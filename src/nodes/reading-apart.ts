// What is wrong with a value, by how a firing that only reads it ends.
import { NodeError } from '../engine/node-type.ts'

/** What a NodeError of one of these types says; null where nothing is thrown. What else is thrown proves nothing of the value, and is thrown on. */
export async function messageOf(reading: Promise<unknown>, ...types: readonly string[]): Promise<string | null> {
  try {
    await reading
    return null
  } catch (error) {
    if (error instanceof NodeError && types.includes(error.type)) return error.message
    throw error
  }
}
