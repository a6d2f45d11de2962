// Damage at random places of a database that was closed cleanly, and of one that a kill left with its log: it is found, or harmless; nothing that is
// not what was stored is served.
import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { damageFolder } from '../helpers/damage.ts'
import { serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import { ENVIRONMENT, fill, servedWrongly, type Truth } from './damage-world.ts'
import { seededRandom } from './seeded.ts'

/** A hundredth part of what `make test-long` does. */
const TRIALS = scaled(10)

/** How a folder is filled, by how the server that did it ended. */
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
      await damaged(filled, seed)
    })
})

/** Damages copies of a sound folder, one after the other. */
async function damaged(filled: (folder: string) => Promise<Truth>, seed: number): Promise<void> {
  const sound = temporaryFolder()
  const random = seededRandom(seed)
  try {
    const truth = await filled(sound)
    for (let trial = 0; trial < TRIALS; trial++) {
      const folder = temporaryFolder()
      try {
        cpSync(sound, folder, { recursive: true })
        const what = damageFolder(folder, random)
        assert.deepEqual(await servedWrongly(folder, truth), [], `seed ${seed}, trial ${trial}: ${what}`)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  } finally {
    rmSync(sound, { recursive: true, force: true })
  }
}
