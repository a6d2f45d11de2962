import type { NodeContext } from './node-context.ts'

/** Counts `bytes` as memory held by the run until the work is done. */
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
