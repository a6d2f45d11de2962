import type { NodeContext } from './node-type.ts'

/** Counts so many bytes among what the run holds until the work is done. */
export async function withHeldMemory<T>(
  bytes: number,
  context: Pick<NodeContext, 'hold'>,
  work: () => Promise<T>,
): Promise<T> {
  context.hold(bytes)
  try {
    return await work()
  } finally {
    context.hold(-bytes)
  }
}
