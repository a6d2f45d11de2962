// Tells what is wrong with a value by the error of work that only reads it.
import { NodeError } from '../../engine/node-api/node-error.ts'

/** The message of a NodeError of one of these types; null if the work succeeds. @throws every other error, which says nothing about the value */
export async function catchErrorMessage(work: Promise<unknown>, ...types: readonly string[]): Promise<string | null> {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof NodeError && types.includes(error.type)) return error.message
    throw error
  }
}
