// `make bench`: measures and prints a table. ONLY=http,engine (or arguments) selects from TARGETS. Absent: all.
import { benchAccess } from './access.ts'
import { benchAppends } from './appends.ts'
import { type BenchRow, benchEngine } from './engine.ts'
import { benchFairness } from './fairness.ts'
import { benchFiles } from './files.ts'
import { benchFollowers } from './followers.ts'
import { benchGateway } from './gateway.ts'
import { benchGrowth } from './growth.ts'
import { benchHttp } from './http.ts'
import { watchMachine } from './machine.ts'
import { benchPreflight } from './preflight.ts'
import { benchRecovery } from './recovery.ts'
import { benchReplay } from './replay.ts'
import { benchRest } from './rest.ts'
import { benchSandbox } from './sandbox.ts'
import { benchMemory, benchStart } from './start.ts'
import { benchSubmissions } from './submissions.ts'
import { benchSweep } from './sweep.ts'
import { benchUploads } from './uploads.ts'

const TARGETS: Readonly<Record<string, () => Promise<BenchRow[]>>> = {
  start: benchStart,
  memory: benchMemory,
  http: benchHttp,
  access: benchAccess,
  engine: benchEngine,
  sandbox: benchSandbox,
  preflight: benchPreflight,
  submissions: benchSubmissions,
  appends: benchAppends,
  replay: benchReplay,
  followers: benchFollowers,
  recovery: benchRecovery,
  gateway: benchGateway,
  growth: benchGrowth,
  sweep: benchSweep,
  uploads: benchUploads,
  files: benchFiles,
  fairness: benchFairness,
  rest: benchRest,
}

function selected(): string[] {
  // make passes ONLY as an argument and in the environment.
  const given = [...process.argv.slice(2), process.env.ONLY ?? ''].flatMap((text) => text.split(/[\s,]+/))
  const asked = [...new Set(given)].filter(Boolean)
  const unknown = asked.filter((name) => !(name in TARGETS))
  if (unknown.length > 0) {
    console.error(`there is no ${unknown.join(', ')}; ONLY= takes ${Object.keys(TARGETS).join(', ')}`)
    process.exit(2)
  }
  return asked.length > 0 ? asked : Object.keys(TARGETS)
}

function print({ name, value, unit }: BenchRow): void {
  const figure = Number.isNaN(value) ? 'not known' : value.toLocaleString('en', { maximumFractionDigits: 3 })
  console.log(`${name.padEnd(86)} ${figure.padStart(12)} ${unit}`)
}

const names = selected()
const quietness = watchMachine()
for (const name of names) for (const row of await TARGETS[name]!()) print(row)
const { reasons, machine } = quietness()
console.log(`\n${machine}`)
if (reasons.length > 0) console.log(`This machine was too busy to trust these figures: ${reasons.join('; ')}.`)
