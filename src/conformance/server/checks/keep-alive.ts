// Signs of life on a silent socket: it is opened first of all, says nothing, and is judged last, when the signs are due.
import { setTimeout as wait } from 'node:timers/promises'
import { CheckFindings, CheckSkipped } from '../check-outcomes.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { SuiteSocket } from '../suite-socket.ts'

/** How much later than they are due signs may come, as a part of the time between them. */
const TOLERANCE = 0.08

interface SilentSocket {
  socket: SuiteSocket
  since: number
}

/** A socket that asks nothing. */
export function openSilentSocket(t: SuiteContext): Promise<SilentSocket> {
  return t.memoize('silent socket', async () => ({ socket: await t.openSocket(), since: performance.now() }))
}

/** Both signs have come as soon as both are due. Nothing is said before, unless the judgement may wait for it. */
export async function checkKeepAlive(t: SuiteContext): Promise<void> {
  const { socket, since } = await openSilentSocket(t)
  const { protocol_ping_ms, frame_ping_ms } = t.keep_alive
  const due = Math.max(protocol_ping_ms, frame_ping_ms) * (1 + TOLERANCE)
  const left = since + due - performance.now()
  if (left > t.patience_ms)
    throw new CheckSkipped(
      `a silent socket is judged after ${due / 1_000} seconds, which would take ${Math.ceil(left / 1_000)} more: give a longer --patience`,
    )
  if (left > 0) await wait(left, undefined, { signal: t.target.stop })
  const frames = socket.frames.filter(({ body }) => body.type === 'ping').length
  const findings = new CheckFindings()
  findings.addCase(socket.closed === null, () => ({
    finding: `a silent socket that answers pings is closed (${socket.closed})`,
  }))
  findings.addCase(frames > 0, () => ({ finding: `no ping frame has come within ${due} ms` }))
  findings.addCase(socket.pings > 0, () => ({ finding: `no ping of the protocol has come within ${due} ms` }))
  findings.throwIfBroken('')
}
