// Damage at random positions of a database that was closed cleanly, and of one that a kill left with its log. The damage is found or
// harmless, and no wrong data is served.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { TABLE_NAMES } from '../../src/db/integrity/row-checksum.ts'
import { damageFolder } from '../helpers/damage.ts'
import { serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import { type Cell, cellsOf } from '../helpers/sqlite-cells.ts'
import { ENVIRONMENT, fill, servedWrongly, type Truth } from './damage-world.ts'
import { seededRandom } from './seeded.ts'

/** A hundredth of the trials of `make test-long`. */
const TRIALS = scaled(10)

type Random = () => number

/** How a folder is filled, by the way its server ended. */
const ENDS: Readonly<Record<string, (folder: string) => Promise<Truth>>> = {
  'was closed': filledAndClosed,
  'a kill left': async (data_dir) => {
    await using server = await serve(data_dir, ENVIRONMENT)
    return await fill(server)
  },
}

async function filledAndClosed(data_dir: string): Promise<Truth> {
  await using server = await startServer({ data_dir, environment: ENVIRONMENT })
  return await fill(server)
}

describe('damage of a data folder', () => {
  const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000_007)

  for (const [end, filled] of Object.entries(ENDS))
    test(`that ${end} is found or harmless, ${TRIALS} times out of the seed ${seed}`, async () => {
      await damaged(filled, seed, () => damageFolder)
    })

  test(`at one bit of a column is found or harmless, ${TRIALS} times out of the seed ${seed}`, async () => {
    await damaged(filledAndClosed, seed, (sound) => {
      const cells = Map.groupBy(cellsOf(join(sound, 'svc.db'), OWN_TABLES), ({ column }) => column)
      return (folder, random) => flipBit(folder, oneOf(oneOf([...cells.values()], random), random), random)
    })
  })
})

/** One bit in a row with a checksum. */
const COVERED_COLUMN = new RegExp(` of (?:${TABLE_NAMES.join('|')})\\.\\w+$`)

/** Tables of SQLite and the migrations. */
const OWN_TABLES = /^(sqlite_|kysely_)/

/** Damages copies of a sound folder, one after the other. `damageOf` returns a function that damages a copy and describes the damage. */
async function damaged(
  filled: (folder: string) => Promise<Truth>,
  seed: number,
  damageOf: (sound: string) => (folder: string, random: Random) => string,
): Promise<void> {
  const sound = temporaryFolder()
  const random = seededRandom(seed)
  try {
    const truth = await filled(sound)
    const damage = damageOf(sound)
    for (let trial = 0; trial < TRIALS; trial++) {
      const folder = temporaryFolder()
      try {
        cpSync(sound, folder, { recursive: true })
        const what = damage(folder, random)
        if (COVERED_COLUMN.test(what))
          assert.notDeepEqual(
            await checkDatabase(join(folder, 'svc.db')),
            [],
            `the check: seed ${seed}, trial ${trial}: ${what}`,
          )
        assert.deepEqual(await servedWrongly(folder, truth), [], `seed ${seed}, trial ${trial}: ${what}`)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  } finally {
    rmSync(sound, { recursive: true, force: true })
  }
}

/** A small column is damaged as often as one that fills the file. */
function flipBit(folder: string, { column, at, length, isText }: Cell, random: Random): string {
  const path = join(folder, 'svc.db')
  const bytes = readFileSync(path)
  const place = at + Math.floor(random() * length)
  // The text remains valid UTF-8.
  const bit = Math.floor(random() * (isText ? 4 : 8))
  bytes[place] = bytes[place]! ^ (1 << bit)
  writeFileSync(path, bytes)
  return `bit ${bit} of byte ${place - at} of ${length} of ${column}`
}

function oneOf<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)]!
}
