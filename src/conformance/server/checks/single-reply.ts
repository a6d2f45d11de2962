// Checks that each command has one answer. A socket sends its commands first, stays open, and is checked last with all others.

import { CheckFindings } from '../check-outcomes.ts'
import { mapOf } from '../json.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { SuiteSocket } from '../suite-socket.ts'
import { listClaimedRpcs } from './socket-commands.ts'

/** How long after the last answer a second one may come. */
const LATE_REPLY_MS = 500

interface AskedSocket {
  socket: SuiteSocket
  asked: { command: string; request_id: string }[]
  since: number
}

/** Sends each RPC once, some of them with invalid data. */
export function openAskedSocket(t: SuiteContext): Promise<AskedSocket> {
  return t.memoize('kept socket', async () => {
    const socket = await t.openSocket()
    const asked = listClaimedRpcs(t).map((command, at) => ({ command, request_id: `conformance-one-${at}`, data: {} }))
    for (const command of asked) socket.send(command)
    for (const { command, request_id } of asked)
      await socket.waitForFrame(`an answer to ${command}`, (frame) => frame.request_id === request_id)
    await socket.waitUntilAnswered()
    return { socket, asked, since: performance.now() }
  })
}

export async function checkSingleReply(t: SuiteContext): Promise<void> {
  const { socket, asked, since } = await openAskedSocket(t)
  const left = since + LATE_REPLY_MS - performance.now()
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
  await socket.waitUntilAnswered()
  const findings = new CheckFindings()
  for (const { command, request_id } of asked) {
    const replies = socket.frames.map(({ body }) => body).filter((frame) => frame.request_id === request_id)
    const right = replies.length === 1 && replies[0]!.type === 'rpc_response' && replies[0]!.command === command
    findings.addCase(right, () => ({
      finding: `${command} has ${replies.length} answers, or none with its own request_id`,
      answer: replies,
    }))
  }
  for (const one of t.sockets) {
    for (const [request_id, times] of countReplies(one)) {
      findings.addCase(times === 1, () => ({ finding: `a command has ${times} answers`, request: { request_id } }))
    }
  }
  findings.throwIfBroken('the server claims no RPC')
}

/** Counts the answers to each command of a socket. */
function countReplies({ frames }: SuiteSocket): Map<unknown, number> {
  const answers = new Map<unknown, number>()
  for (const { body } of frames) {
    const { type, request_id } = mapOf(body)
    if (type === 'rpc_response') answers.set(request_id, (answers.get(request_id) ?? 0) + 1)
  }
  return answers
}
