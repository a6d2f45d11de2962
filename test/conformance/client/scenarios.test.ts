// The scenarios for clients: a second client, written from the documents alone, passes all of them through either door, and
// a broken one fails each as the table says.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientRequirements } from '../../../generated/requirements.ts'
import type { ScenarioId } from '../../../src/conformance/client/scenario.ts'
import type { ScenarioOutcome } from '../../../src/conformance/client/scenario-runner.ts'
import { scenarios } from '../../../src/conformance/client/scenarios.ts'
import { ownDriver } from './own-driver.ts'
import { each, play, told } from './play.ts'
import { secondDriver } from './second-client/driver.ts'
import { FLAWS } from './second-client/flaws.ts'
import { bodyProblems, frameProblems, NEWER } from './sent.ts'
import { broken, never } from './table.ts'

/** Ample for a client that does what it should. */
const PATIENT_MS = 20_000
/** How long a client is waited for that will never report. */
const HANGING_MS = 4_000

const playedBy: Partial<Record<'socket' | 'http', Promise<ScenarioOutcome[]>>> = {}
const ids = scenarios.map(({ id }) => id)

describe('the scenarios for clients', () => {
  test('are those that the contract asks for, each once', () => {
    assert.ok(ids.length >= 40)
    assert.deepEqual([...ids].sort(), clientRequirements.map(({ id }) => id.replace('client.', '')).sort())
    assert.ok(clientRequirements.every(({ mutation }) => mutation !== null))
  })

  for (const door of ['socket', 'http'] as const) {
    const played = () => {
      playedBy[door] ??= each(ids, (id) => play(id, secondDriver(door), PATIENT_MS))
      return playedBy[door]
    }

    test(`are passed by the second client, with submissions by ${door}`, async () => {
      const outcomes = await played()
      assert.deepEqual(outcomes.filter(({ verdict }) => verdict !== 'pass').map(told), [])
    })

    test(`send what the contract says, to submissions by ${door}`, async () => {
      const outcomes = (await played()).filter(({ scenario }) => !NEWER.includes(scenario as ScenarioId))
      assert.deepEqual(
        outcomes.flatMap((outcome) => [...frameProblems(outcome), ...bodyProblems(outcome)]),
        [],
      )
      const frames = outcomes.flatMap(({ transcript }) => transcript.filter(({ what }) => what.endsWith('frame')))
      assert.ok(frames.length > 300)
    })
  }

  test('send something else where they mean to, which these tests notice', async () => {
    for (const id of ['unknown-frame-ignored', 'unknown-event-type'] as const) {
      assert.notDeepEqual(frameProblems(await play(id, secondDriver('socket'), PATIENT_MS)), [])
    }
  })
})

test("the project's own client passes all scenarios", async () => {
  const outcomes = await each(ids, (id) => play(id, ownDriver, PATIENT_MS))
  assert.deepEqual(outcomes.filter(({ verdict }) => verdict !== 'pass').map(told), [])
})

describe('a broken client', () => {
  test('exists for each scenario, and no defect is left out', () => {
    const used = new Set(Object.values(broken).flatMap(({ flaws }) => flaws))
    assert.deepEqual(Object.keys(broken).sort(), [...ids].sort())
    assert.deepEqual(
      FLAWS.filter((flaw) => !used.has(flaw)),
      [],
    )
  })

  test('fails each, for the reason that the table gives', async () => {
    const fails = async (id: ScenarioId) => {
      const { flaws, door = 'socket', reason } = broken[id]
      const hangs = reason === never
      const outcome = await play(id, secondDriver(door, ...flaws), hangs ? HANGING_MS : PATIENT_MS)
      return outcome.verdict === 'fail' && reason.test(outcome.reason ?? '') ? [] : [told(outcome)]
    }
    const hanging = ids.filter((id) => broken[id].reason === never)
    const others = ids.filter((id) => broken[id].reason !== never)
    // Those that hang cost no more than time.
    const wrong = await Promise.all([each(others, fails), Promise.all(hanging.map(fails))])
    assert.deepEqual(wrong.flat(2), [])
  })
})
