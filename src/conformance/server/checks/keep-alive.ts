// Checks of pings on a silent socket. The socket opens first and sends nothing. It is checked last, when the pings are due.
import { setTimeout as wait } from 'node:timers/promises'
import { CheckFindings, CheckSkipped } from '../check-outcomes.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { SuiteSocket } from '../suite-socket.ts'

/** How late pings may come, as a part of their interval. */
const TOLERANCE = 0.08

interface SilentSocket {
  socket: SuiteSocket
  since: number
}

/** Opens a socket that sends no request. */
export function openSilentSocket(t: SuiteContext): Promise<SilentSocket> {
  return t.memoize('silent socket', async () => ({ socket: await t.openSocket(), since: performance.now() }))
}

/** Both pings have come as soon as both are due. The check skips an earlier verdict, unless the suite may wait for it. */
export async function checkKeepAlive(t: SuiteContext): Promise<void> {
  const { socket, since } = await openSilentSocket(t)
  const { protocol_ping_ms, frame_ping_ms } = t.keep_alive
  const due = Math.max(protocol_ping_ms, frame_ping_ms) * (1 + TOLERANCE)
  const left = since + due - performance.now()
  if (left > t.patience_ms)
    throw new CheckSkipped(
      `a silent socket is checked after ${due / 1_000} seconds, which would take ${Math.ceil(left / 1_000)} more: set a longer --patience`,
    )
  if (left > 0) await wait(left, undefined, { signal: t.target.stop })
  const frames = socket.frames.filter(({ body }) => body.type === 'ping').length
  const findings = new CheckFindings()
  findings.addCase(socket.closed === null, () => ({
    finding: `the server closes a silent socket that answers pings (${socket.closed})`,
  }))
  findings.addCase(frames > 0, () => ({ finding: `no ping frame came within ${due} ms` }))
  findings.addCase(socket.pings > 0, () => ({ finding: `no ping of the protocol came within ${due} ms` }))
  findings.throwIfBroken('')
}
