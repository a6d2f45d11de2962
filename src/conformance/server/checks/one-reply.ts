// One answer to each question on the socket: a socket is asked first of all, kept open, and judged last, with all the others.
import { mapOf } from '../json.ts'
import type { Socket } from '../socket.ts'
import type { Trial } from '../trial.ts'
import { Findings } from '../verdicts.ts'
import { rpcs } from './commands.ts'

/** How long after the last answer a second one may still come. */
const LATE_MS = 500

interface Kept {
  socket: Socket
  asked: { command: string; request_id: string }[]
  since: number
}

/** Asked for each RPC once, with what some of them refuse. */
export function keptSocket(t: Trial): Promise<Kept> {
  return t.once('kept socket', async () => {
    const socket = await t.socket()
    const asked = rpcs(t).map((command, at) => ({ command, request_id: `conformance-one-${at}`, data: {} }))
    for (const command of asked) socket.send(command)
    for (const { command, request_id } of asked)
      await socket.next(`an answer to ${command}`, (frame) => frame.request_id === request_id)
    await socket.settled()
    return { socket, asked, since: performance.now() }
  })
}

export async function oneReply(t: Trial): Promise<void> {
  const { socket, asked, since } = await keptSocket(t)
  const left = since + LATE_MS - performance.now()
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
  await socket.settled()
  const findings = new Findings()
  for (const { command, request_id } of asked) {
    const replies = socket.frames.map(({ body }) => body).filter((frame) => frame.request_id === request_id)
    const right = replies.length === 1 && replies[0]!.type === 'rpc_response' && replies[0]!.command === command
    findings.see(right, () => ({
      finding: `${command} has ${replies.length} answers, or none of its own`,
      answer: replies,
    }))
  }
  for (const one of t.sockets) {
    for (const [request_id, times] of answersOf(one)) {
      findings.see(times === 1, () => ({ finding: `a question has ${times} answers`, request: { request_id } }))
    }
  }
  findings.settle('the server claims no RPC')
}

/** How often each question of a socket was answered. */
function answersOf({ frames }: Socket): Map<unknown, number> {
  const answers = new Map<unknown, number>()
  for (const { body } of frames) {
    const { type, request_id } = mapOf(body)
    if (type === 'rpc_response') answers.set(request_id, (answers.get(request_id) ?? 0) + 1)
  }
  return answers
}
