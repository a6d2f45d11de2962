// Messages that quote and cut texts hide the rest of a secret, and give no help for guessing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { createLog } from '../../src/log.ts'
import { createVendorError } from '../../src/models/providers/shared/vendor-errors.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { call } from '../helpers/http.ts'
import { takesLess } from '../helpers/patience.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { makeWorkflow, putSecret } from '../settings/kit.ts'

const LONG = `pk-live-${'Zq7Xw9Lk2Mv4Rt6Yp8Nb1Hc3Jd5Gf0Sa'.repeat(4)}`
const OWNER = 'owner'

describe('a message that cuts a text', () => {
  const redactor = new Redactor(['service-Secret/4711-and-more'])
  redactor.add(LONG, OWNER)
  const own = redactor.forOwner(OWNER)

  test('shows no part of a cut secret of the owner, and all other text', () => {
    assert.equal(
      own.message(`"${LONG.slice(0, 60)}…" is no date: see date.Parse.`),
      '"[redacted]…" is no date: see date.Parse.',
    )
    assert.equal(own.message(`"x=${LONG.slice(0, 8)}…", "y…", ${LONG}`), '"x=[redacted]…", "y…", [redacted]')
    assert.equal(own.message(`"${LONG.slice(0, 7)}…"`), `"${LONG.slice(0, 7)}…"`)
    assert.equal(own.message(`it begins with ${LONG.slice(0, 20)}`), `it begins with ${LONG.slice(0, 20)}`)
    assert.equal(own.message('a … b'), 'a … b')
  })

  test('shows no part of a secret that a model server repeats and that is cut', () => {
    for (let before = 0; before < 600; before += 20) {
      const message = `${'x'.repeat(before)}${LONG}`
      const error = createVendorError({ name: 'vendor' }, 'rejected', { type: '', message }, { credential: null })
      assert.ok(!own.message(error.message).includes(LONG.slice(0, 8)), error.message)
    }
  })

  test('hides a secret that contains an ellipsis', () => {
    redactor.add('begins like…this and goes on', OWNER)
    assert.equal(own.message('"begins like…this and goes on" is none'), '"[redacted]" is none')
  })

  test('of a model server shows no large beginning of a secret of the service, at its end or at a cut', () => {
    const begun = 'service-Secret/4711-and-mor'
    for (const end of ['', '…', '… and more'])
      assert.equal(own.foreignMessage(`wrong key ${begun}${end}`), `wrong key [redacted]${end}`)
    assert.equal(own.foreignMessage(`wrong key ${begun.slice(0, 14)}…`), `wrong key ${begun.slice(0, 14)}…`)
    assert.equal(own.foreignMessage(`x=${LONG.slice(0, 8)}…, ${LONG}`), 'x=[redacted]…, [redacted]')
    assert.equal(own.foreignMessage('a … b'), 'a … b')
  })

  test('is redacted quickly although the owner has had a megabyte of secrets', async () => {
    const value = (at: number) => `${at}"+\\/é`.repeat(10_000)
    await takesLess(200, () => {
      const many = new Redactor()
      for (let at = 10; at < 25; at++) many.add(value(at), OWNER)
      assert.equal(many.forOwner(OWNER).message(`"${value(12).slice(0, 200)}…" is none`), '"[redacted]…" is none')
      for (let at = 10; at < 25; at++) many.remove(value(at), OWNER)
      assert.equal(many.forOwner(OWNER).message(`"${value(12).slice(0, 20)}…"`), `"${value(12).slice(0, 20)}…"`)
    })
  })

  test('does not depend on how secrets of the service and of others begin', () => {
    const begun = '"service-Secret/4711-and-mor…"'
    assert.equal(own.message(begun), begun)
    assert.equal(redactor.forOwner('somebody').message(`"${LONG.slice(0, 60)}…"`), `"${LONG.slice(0, 60)}…"`)
  })
})

/** Nodes whose errors and log lines quote their inputs. */
const QUOTING = {
  date: { type: 'date.Add', data: { amount: 1 }, input: 'date' },
  folder: { type: 'asset.List', data: {}, input: 'folder' },
  code: {
    type: 'code.JavaScript',
    data: { code: 'console.log("x".repeat(9_980) + inputs.text); throw new Error("x".repeat(540) + inputs.text)' },
    input: 'text',
  },
} as const

describe('an error of a node', () => {
  for (const [name, { type, data, input }] of Object.entries(QUOTING))
    test(`shows nothing of a secret that it quotes in part: ${name}`, async () => {
      const lines: string[] = []
      const log = createLog('trace', new Redactor(), { write: (line: string) => void lines.push(line) })
      await using server = await startServer({ log })
      await putSecret(server, 'MINE', LONG)
      const nodes = [
        { id: 'in', type: 'input.Any', data: { name: 'given' } },
        { id: 'node', type, data },
      ]
      const edges = [{ source: 'in', sourceHandle: 'output', target: 'node', targetHandle: input }]
      await using client = await connect(server)
      client.command('run_job', { job_id: 'job', graph: { nodes, edges }, params: { given: LONG } })
      const frames = await client.collect('job')
      assert.equal(frames.at(-1)?.status, 'failed')
      const told: string[] = [JSON.stringify(frames), ...lines]
      for (const path of ['/api/jobs/job', '/api/jobs/job/events'])
        told.push((await call(server, 'GET', path, { headers: { Accept: 'application/json' } })).text)
      for (const text of told) assert.ok(!text.includes(LONG.slice(0, 12)), text)
      assert.match(JSON.stringify(frames), /\[redacted\]…/)
    })

  test('is the same over HTTP', async () => {
    await using server = await startServer()
    await putSecret(server, 'MINE', LONG)
    const nodes = [
      { id: 'in', type: 'input.Any', data: { name: 'given' } },
      { id: 'node', type: 'date.Add', data: { amount: 1 } },
    ]
    const edges = [{ source: 'in', sourceHandle: 'output', target: 'node', targetHandle: 'date' }]
    const workflow = await makeWorkflow(server, { name: 'Quoting', graph: { nodes, edges } })
    const body = { params: { given: `on ${LONG}` } }
    const { body: result } = await call<RunResult>(server, 'POST', `/api/workflows/${workflow}/run`, { body })
    assert.match(result.error!.message, /^"on \[redacted\]…" is not a date/)
  })
})
