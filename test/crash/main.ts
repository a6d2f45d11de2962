// `make crash`: a complete run with progress output. SVC_TEST_SCALE multiplies ten kills; SVC_TEST_SEED repeats a run. Many kills are split
// into parts with separate folders, because each kill takes longer with more stored data.
import { randomBytes } from 'node:crypto'
import { scaled } from '../helpers/scale.ts'
import { crash } from './harness.ts'
import { storyOf } from './story.ts'

const MOST_KILLS = 100
/** The most reasons and job stories that are shown for a part. */
const SHOWN = 50
const STORIES = 5

/** Returns whether a part is sound. An error of the harness does not stop the other parts. */
async function part(kills: number, seed: string): Promise<boolean> {
  console.log(`seed ${seed}`)
  try {
    return await isClean(kills, seed)
  } catch (error) {
    console.log(`WRONG the harness failed: ${error instanceof Error ? error.stack : error}`)
    return false
  }
}

async function isClean(kills: number, seed: string): Promise<boolean> {
  const { wrong, missed, summary, faults, evidence } = await crash({ kills, seed, say: console.log })
  console.log(`\n${summary}`)
  for (const line of wrong.slice(0, SHOWN)) console.log(`WRONG ${line}`)
  if (wrong.length > SHOWN) console.log(`and ${wrong.length - SHOWN} more`)
  const found = new Set(faults.map(({ job_id }) => job_id))
  const stories = evidence.filter(({ job_id }) => found.has(job_id)).slice(0, STORIES)
  for (const line of stories.flatMap(storyOf)) console.log(line)
  for (const way of missed) console.log(`WRONG never taken: ${way}`)
  return wrong.length + missed.length === 0
}

const seed = process.env.SVC_TEST_SEED ?? randomBytes(4).toString('hex')
const kills = scaled(10)
const parts = Math.ceil(kills / MOST_KILLS)
let clean = 0
for (let at = 0; at < parts; at++) {
  if (await part(Math.min(MOST_KILLS, kills - at * MOST_KILLS), parts === 1 ? seed : `${seed}-${at + 1}`)) clean++
}
if (parts > 1) console.log(`\n${kills} kills: ${clean} of ${parts} parts are clean`)
process.exitCode = clean === parts ? 0 : 1
