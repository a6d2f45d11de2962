// The suite judges a second server, written from the documents alone: it passes what it claims, and each seeded defect is caught by the
// requirement that is named for it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serverRequirements } from '../../../generated/requirements.ts'
import { runServerSuite } from '../../../src/conformance/server/suite.ts'
import { DEFECTS, type Defect } from './minimal-server/defects.ts'
import { startMinimal } from './minimal-server/server.ts'
import { EXPIRED_JOB, SWEPT_JOB } from './minimal-server/service.ts'
import { KEEP_ALIVE } from './minimal-server/socket.ts'

const TOKEN = 'minimal-token'
const OTHER = 'token-of-another'
/** What a defect keeps from coming is waited for so long. */
const TIMEOUT_MS = 1_000

interface Judgement {
  failed: string[]
  passed: string[]
  skipped: string[]
}

async function judge(options: {
  preview: boolean
  token: string | null
  defect?: Defect
  only?: string[]
  timeout_ms?: number
}): Promise<Judgement> {
  const { preview, token, defect, only = [], timeout_ms = 10_000 } = options
  await using server = await startMinimal({ preview, token, other_token: OTHER, defects: defect ? [defect] : [] })
  const given = token === null ? {} : { other_token: OTHER, expired_job: EXPIRED_JOB, swept_job: SWEPT_JOB }
  const { requirements } = await runServerSuite({
    url: server.url,
    token,
    profile: 'full',
    timeout_ms,
    only,
    operator_inputs: given,
    // Signs that are twice overdue are missing even on a busy machine.
    keep_alive: { protocol_ping_ms: KEEP_ALIVE.protocol_ping_ms * 2, frame_ping_ms: KEEP_ALIVE.frame_ping_ms * 2 },
    patience_ms: 5_000,
  })
  const having = (verdict: string) => requirements.filter((one) => one.verdict === verdict).map(({ id }) => id)
  for (const { id, reason, evidence } of requirements.filter(({ verdict }) => verdict === 'fail')) {
    if (defect === undefined) assert.fail(`${id}: ${reason} ${JSON.stringify(evidence).slice(0, 1_000)}`)
  }
  return { failed: having('fail'), passed: having('pass'), skipped: having('skipped') }
}

describe('a minimal server', () => {
  test('passes what it claims, with the preview and a token', async () => {
    const { passed, skipped } = await judge({ preview: true, token: TOKEN })
    assert.ok(passed.length >= 155, `${passed.length} passed; skipped ${skipped.join(', ')}`)
  })

  test('passes what it claims, without the preview and without a token', async () => {
    const { passed, skipped } = await judge({ preview: false, token: null })
    assert.ok(passed.length >= 70, `${passed.length} passed; skipped ${skipped.join(', ')}`)
    assert.ok(skipped.includes('server.submission.duplicate'))
  })
})

const SEEDED = Object.entries(DEFECTS).map(([defect, rules]) => {
  return { defect: defect as Defect, ids: [rules].flat().map((rule) => `server.${rule}`) }
})

describe('a seeded defect is caught:', { concurrency: 4 }, () => {
  for (const { defect, ids } of SEEDED) {
    test(`${defect} by ${ids.join(' and ')}`, async () => {
      const { failed } = await judge({ preview: true, token: TOKEN, defect, only: ids, timeout_ms: TIMEOUT_MS })
      assert.deepEqual(failed.sort(), [...ids].sort())
    })
  }

  test('and every requirement has one that it catches', () => {
    const caught = new Set(SEEDED.flatMap(({ ids }) => ids))
    const idle = serverRequirements.filter(({ id }) => !caught.has(id)).map(({ id }) => id)
    assert.deepEqual(idle, [])
    assert.ok(SEEDED.length >= 20)
  })
})
