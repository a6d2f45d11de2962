// `make crash`: a whole run, told as it goes. SVC_TEST_SCALE multiplies ten kills; SVC_TEST_SEED repeats a run.
import { randomBytes } from 'node:crypto'
import { scaled } from '../helpers/scale.ts'
import { crash } from './harness.ts'

/** How many reasons are shown. */
const SHOWN = 50

const seed = process.env.SVC_TEST_SEED ?? randomBytes(4).toString('hex')
console.log(`seed ${seed}`)
const { wrong, missed, summary } = await crash({ kills: scaled(10), seed, say: console.log })
console.log(`\n${summary}`)
for (const line of wrong.slice(0, SHOWN)) console.log(`WRONG ${line}`)
if (wrong.length > SHOWN) console.log(`and ${wrong.length - SHOWN} more`)
for (const way of missed) console.log(`WRONG never taken: ${way}`)
process.exitCode = wrong.length + missed.length === 0 ? 0 : 1
