// Large bodies and frames. Most of them are invalid, so the server only parses them and finds the errors.
import { encode } from '@msgpack/msgpack'
import type { AttackOf } from '../kit.ts'

/** Below the default of SVC_MAX_BODY_BYTES. */
const LARGEST_BODY = 16_000_000
/** Below the default of SVC_WS_MAX_MESSAGE_BYTES. */
const LARGEST_FRAME = 30_000_000

const sized = (full: number, share: number) => Math.max(1, Math.floor(full * share))
const listOf = <T>(count: number, item: (at: number) => T) => Array.from({ length: count }, (_, at) => item(at))

/** An object with properties that the schema does not know. */
export const unknownKeys: AttackOf = (share) => {
  const keys = listOf(sized(900_000, share), (at) => `"key${at}":${at % 10}`)
  const body = `{"name":"Attack","graph":{"nodes":[],"edges":[]},${keys.join(',')}}`
  return {
    name: `a body of ${keys.length.toLocaleString('en')} unknown keys`,
    strike: (attacker) => attacker.expect(400, 'POST', '/api/workflows', body),
  }
}

/** A list with only invalid items. */
const wrongItems: AttackOf = (share) => {
  const count = sized(LARGEST_BODY / 3, share)
  const body = `{"name":"Attack","graph":{"nodes":[${'{},'.repeat(count - 1)}{}],"edges":[]}}`
  return {
    name: `a body of ${count.toLocaleString('en')} wrong nodes`,
    strike: (attacker) => attacker.expect(400, 'POST', '/api/workflows', body),
  }
}

/** A text that is invalid JSON only at its end. */
const brokenEnd: AttackOf = (share) => {
  const body = `{"name":"Attack","graph":{"nodes":[${'[],'.repeat(sized(LARGEST_BODY / 3, share))}`
  return {
    name: `a body of ${(body.length / 1e6).toFixed(1)} MB that breaks off`,
    strike: (attacker) => attacker.expect(400, 'POST', '/api/workflows', body),
  }
}

export const nils: AttackOf = (share) => {
  const count = sized(LARGEST_FRAME, share)
  const frame = Buffer.alloc(count + 5, 0xc0)
  frame[0] = 0xdd
  frame.writeUInt32BE(count, 1)
  return {
    name: `a frame of ${count.toLocaleString('en')} nils`,
    strike: (attacker) => attacker.frame(frame),
  }
}

export const jsonFrame: AttackOf = (share) => {
  const frame = `[${'"abcdef",'.repeat(sized(LARGEST_FRAME / 9, share))}0]`
  return {
    name: `a JSON array of ${(frame.length / 1e6).toFixed(1)} MB in a frame`,
    strike: (attacker) => attacker.frame(frame),
  }
}

/** A command with a long list instead of a text. */
const wrongCommand: AttackOf = (share) => {
  const data = { workflow_id: 'greeting', job_name: listOf(sized(2_000_000, share), (at) => at) }
  const frame = encode({ command: 'run_job', data })
  return {
    name: `a wrong command of ${(frame.length / 1e6).toFixed(1)} MB in a frame`,
    strike: (attacker) => attacker.frame(frame),
  }
}

export const bodies: readonly AttackOf[] = [unknownKeys, wrongItems, brokenEnd, nils, jsonFrame, wrongCommand]
