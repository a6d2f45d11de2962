// `make crash`: a whole run, told as it goes. SVC_TEST_SCALE multiplies ten kills; SVC_TEST_SEED repeats a run.
import { randomBytes } from 'node:crypto'
import { scaled } from '../helpers/scale.ts'
import { crash } from './harness.ts'
import { storyOf } from './story.ts'

/** How many reasons are shown, and the stories of how many jobs. */
const SHOWN = 50
const STORIES = 5

const seed = process.env.SVC_TEST_SEED ?? randomBytes(4).toString('hex')
console.log(`seed ${seed}`)
const { wrong, missed, summary, faults, evidence } = await crash({ kills: scaled(10), seed, say: console.log })
console.log(`\n${summary}`)
for (const line of wrong.slice(0, SHOWN)) console.log(`WRONG ${line}`)
if (wrong.length > SHOWN) console.log(`and ${wrong.length - SHOWN} more`)
const found = new Set(faults.map(({ job_id }) => job_id))
const stories = evidence.filter(({ job_id }) => found.has(job_id)).slice(0, STORIES)
for (const line of stories.flatMap(storyOf)) console.log(line)
for (const way of missed) console.log(`WRONG never taken: ${way}`)
process.exitCode = wrong.length + missed.length === 0 ? 0 : 1
