// Checks how the socket handles unreadable, unknown and invalid frames.
import { CheckFindings, expect } from '../check-outcomes.ts'
import type { AreaChecks } from './check-types.ts'

type InvalidInputRule =
  | 'undecodable'
  | 'no-command'
  | 'unknown-command'
  | 'unknown-type-ignored'
  | 'invalid-command'
  | 'stays-open'

export const invalidInputChecks: Pick<AreaChecks<'socket'>, `server.socket.${InvalidInputRule}`> = {
  'server.socket.undecodable': async (t) => {
    const socket = await t.openSocket()
    for (const raw of [new Uint8Array([0xc1]), new Uint8Array([0x81, 0xa1]), '{"command":']) {
      const from = socket.frames.length
      socket.sendRaw(raw)
      await socket.waitForFrame(
        'invalid_frame',
        ({ error, message }) => error === 'invalid_frame' && Boolean(message),
        from,
      )
    }
  },
  'server.socket.no-command': async (t) => {
    const socket = await t.openSocket()
    socket.send({ data: {} })
    await socket.waitForFrame(
      'invalid_message',
      ({ error, message }) => error === 'invalid_message' && Boolean(message),
    )
  },
  'server.socket.unknown-command': async (t) => {
    const socket = await t.openSocket()
    const reply = await socket.request('conformance_unknown', {})
    expect(
      reply.type === 'rpc_response' && reply.error !== undefined,
      'the answer is not an rpc_response with an error',
      {},
      reply,
    )
    const from = socket.frames.length
    socket.send({ command: 'conformance_unknown' })
    await socket.waitForFrame(
      'a frame of type error',
      ({ type, message }) => type === 'error' && Boolean(message),
      from,
    )
  },
  'server.socket.unknown-type-ignored': async (t) => {
    const socket = await t.openSocket()
    await socket.waitUntilAnswered()
    const from = socket.frames.length
    socket.send({ type: 'pong', ts: 1 })
    socket.send({ type: 'conformance_unknown', job_id: 'x' }, 'text')
    await socket.waitUntilAnswered()
    const answers = socket.frames.slice(from).filter(({ body }) => body.type !== 'pong' && body.type !== 'ping')
    expect(
      answers.length === 0,
      'a frame with a type and no command is answered',
      {},
      answers.map(({ body }) => body),
    )
  },
  'server.socket.invalid-command': async (t) => {
    const findings = new CheckFindings()
    const socket = await t.openSocket()
    for (const command of ['run_job', 'cancel_job', 'reconnect_job'] as const) {
      if (!t.hasCommand(command)) continue
      const from = socket.frames.length
      const data = { job_id: `conformance-${command}`, conformance_unknown: 1 }
      socket.send({ command, data })
      const named = await socket.waitForFrame(
        `an answer to ${command}`,
        ({ error, type }) => error !== undefined || type === 'job_update',
        from,
      )
      const right = named.error === 'invalid_command' && named.job_id === data.job_id
      findings.addCase(right, () => ({
        finding: 'the answer is not invalid_command with the job_id',
        request: { command, data },
        answer: named,
      }))
    }
    findings.throwIfBroken('the server claims no job command')
  },
  'server.socket.stays-open': async (t) => {
    const socket = await t.openSocket()
    for (const raw of ['', '[]', 'null', '{"command":5}', '{"command":"run_job","data":7}', '{}']) socket.sendRaw(raw)
    socket.sendRaw(new Uint8Array([0xc1, 0xff]))
    socket.send({ command: 'get_capabilities', data: { conformance_unknown: 1 }, request_id: 5 })
    await socket.waitUntilAnswered()
    expect(socket.closed === null, `invalid input closed the socket with ${socket.closed}`)
  },
}
