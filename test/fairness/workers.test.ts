// Work that fills the processes and threads of nodes leaves other users' PDFs, code and patterns their time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { inMostRounds } from '../helpers/patience.ts'
import { workers } from './attacks/workers.ts'
import { type Attack, allowedFor, checkHolds, type Figures, share, startFair } from './kit.ts'
import { WORK } from './probes.ts'

/** Milliseconds of processor time, as with the work of nodes. */
const LONGEST_HOLD = 75
/** Enough for tens of answers of each kind. */
const EACH_MS = 700

const quiet: Attack = { name: 'no attack', strike: () => pause(EACH_MS) }

test('no work of processes and threads delays the work of other users', async () => {
  await using server = await startFair()
  const idle = await server.under([quiet], () => true)
  const judged = async (attacks: readonly Attack[]) => {
    const figures = await server.under(attacks, (passed_ms) => passed_ms > EACH_MS)
    const names = attacks.map(({ name }) => name).join(', ')
    checkHolds(names, figures, LONGEST_HOLD)
    for (const name of WORK) check(`${names}: ${name}`, figures.answers[name], idle.answers[name])
  }
  const all = workers.map((of) => of(share(0.01)))
  for (const attacks of [...all.map((one) => [one]), all]) await inMostRounds(() => judged(attacks))
})

type Answers = Figures['answers']['pdf']

function check(what: string, found: Answers, idle: Answers): void {
  const allowed = allowedFor(idle)
  assert.ok(found.middle <= allowed, `${what} took ${found.middle} ms in the middle, and ${allowed} are allowed`)
}
