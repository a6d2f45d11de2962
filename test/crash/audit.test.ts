// The judges of the crash run are reliable: they accept sound evidence, and report each kind of spoilt evidence by its name.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Asset, JobEvent, StoredObject } from '../../generated/types.ts'
import { contentKey } from '../../src/assets/storage-keys.ts'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import { refreshChecksums } from '../helpers/checksums.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { coverage } from './audit/coverage.ts'
import { judgeResult } from './audit/results.ts'
import { databaseOf } from './census.ts'
import { Counter } from './counter.ts'
import type { Evidence } from './evidence.ts'
import { type Content, contentOf } from './files/content.ts'
import { strays } from './files/folder.ts'
import { judgeLook, type Look } from './files/judge.ts'
import { Assets, FOLDER, judgeList } from './files/library.ts'
import { Register } from './files/register.ts'
import type { Told } from './files/transfer.ts'
import { ageValues, strayValues } from './files/values.ts'
import { Ledger, TrackedJob } from './ledger.ts'
import { Random } from './random.ts'
import { judge } from './report.ts'
import { soundEvidence } from './sound.ts'
import { givenUp, type Mutable, SPOILT } from './spoilt.ts'
import { storyOf } from './story.ts'
import { plan } from './work.ts'

describe('the judges of the crash run', () => {
  test('find nothing wrong with a job that was killed, recovered and completed', () => {
    assert.deepEqual(judge(soundEvidence()), [])
  })

  test('find nothing wrong with the end of a job that was interrupted twenty times without getting any further', () => {
    const evidence = soundEvidence()
    givenUp(evidence as Mutable<Evidence>, 20)
    assert.deepEqual([...judgeResult(evidence)], [])
  })

  test('print the history of a job in the order of time', () => {
    const one = soundEvidence()
    const [head, ...lines] = storyOf(one)
    assert.match(head!, /^the job job of the kind \w+:$/)
    assert.equal(lines.length, one.log.length + one.calls.length + one.kills.length)
    assert.deepEqual(
      lines,
      [...lines].sort((a, b) => (a.slice(0, 26) < b.slice(0, 26) ? -1 : 1)),
    )
    assert.ok(lines.some((line) => line.endsWith('kill, seen after 690 ms, it was running')))
  })

  for (const [name, [kind, what, spoil]] of Object.entries(SPOILT)) {
    test(`notice: ${name}`, () => {
      const evidence = soundEvidence()
      spoil(evidence as Mutable<Evidence>)
      const found = judge(evidence)
      assert.ok(
        found.some((one) => one.kind === kind && what.test(one.what)),
        `${kind} ${what} in ${JSON.stringify(found, null, 1)}`,
      )
    })
  }

  test('know which paths through recovery a job took', () => {
    const ways = coverage([soundEvidence()])
    assert.equal(ways['a running job was recovered'], 1)
    assert.equal(ways['a call that may be made twice was made again'], 1)
    assert.equal(ways['a queued job was restored'], 0)
    assert.equal(ways.node_interrupted, 0)
  })

  test('accept a safe call before a kill that found no job, or no started one, as a call of a run that was never stored', () => {
    const early = (method: 'GET' | 'POST', status: string | null) => {
      const one = soundEvidence() as Mutable<Evidence>
      const { begun_at, path } = one.calls.find((call) => call.method === method)!
      one.calls.unshift({ method, path, begun_at: begun_at - 9_000, since: begun_at - 9_020, ended_at: null })
      one.kills.unshift({ at: begun_at - 7_000, until: begun_at - 6_900, status })
      return judge(one as Evidence).some(({ what }) => what === 'it made a call before it ran')
    }
    assert.deepEqual([early('GET', null), early('GET', 'queued'), early('GET', 'running')], [false, false, true])
    assert.deepEqual([early('POST', null), early('POST', 'queued')], [true, true])
  })

  test('accept a call that the witness saw late because it had no processor', () => {
    const late = (since: number) => {
      const one = soundEvidence() as Mutable<Evidence>
      const end = Date.parse(one.log.at(-1)!.timestamp)
      one.calls.push({ ...one.calls.at(-1)!, begun_at: end + 900, since: end + since })
      return judge(one as Evidence).some(({ what }) => /it had ended, and called/.test(what))
    }
    assert.deepEqual([late(880), late(0)], [true, false])
  })

  test('accept that a follower lacks events where it did not watch to the end', () => {
    const evidence = soundEvidence()
    const tapes = evidence.tapes.map((tape) => ({
      ...tape,
      whole: false,
      events: tape.events.slice(0, 9) as JobEvent[],
    }))
    assert.deepEqual(judge({ ...evidence, tapes }), [])
  })
})

/** A register, and a rising number for each moment. */
function register(): { register: Register; tick: () => number } {
  let ticks = 0
  const tick = () => ++ticks
  return { register: new Register('1/a', tick), tick }
}

const [A, B] = [contentOf('a', 1_000), contentOf('b', 2_000)]

describe('the expected content of a key', () => {
  test('is the last acknowledged content, and none before the first acknowledgement', () => {
    const { register: one, tick } = register()
    assert.deepEqual(one.possible(tick()), [null])
    one.end(one.begin(A), true)
    assert.deepEqual(one.possible(tick()), [A])
    one.end(one.begin(null), true)
    assert.deepEqual(one.possible(tick()), [null])
  })

  test('is the old or the interrupted content, until one of them is found or another write follows', () => {
    const { register: one, tick } = register()
    one.end(one.begin(A), true)
    one.end(one.begin(B), false)
    assert.deepEqual(one.possible(tick()), [A, B])
    one.settle(A)
    assert.deepEqual(one.possible(tick()), [A])
    one.end(one.begin(B), false)
    one.end(one.begin(null), true)
    assert.deepEqual(one.possible(tick()), [null])
  })

  test('is any of two concurrent writes, and the content at the start of the look', () => {
    const { register: one, tick } = register()
    const since = tick()
    const [first, second] = [one.begin(A), one.begin(B)]
    assert.deepEqual(one.possible(tick()), [null, A, B])
    one.end(first, true)
    one.end(second, true)
    assert.deepEqual(one.possible(tick()), [A, B])
    assert.deepEqual(one.possible(since), [null, A, B])
    assert.deepEqual(one.possible(since, second), [null, A])
  })
})

/** A correct answer with bytes of A, but for the given members. */
function look(given: Partial<Told> = {}, more: Partial<Look> = {}): Look {
  const told = { status: 200, headers: { etag: `"${A.sha256}"` }, bytes: A.bytes, whole: true, ...given }
  return { what: '1/a', possible: [A], part: null, told, ...more }
}

describe('the judge of files', () => {
  const part = { first: 10, last: 19 }
  const own = A.bytes.subarray(10, 20)

  test('finds nothing wrong with whole, partial, interrupted and missing content', () => {
    const sound = [
      look(),
      look({ bytes: A.bytes.subarray(0, 17), whole: false }),
      look({ status: 206, bytes: own }, { part }),
      look({}, { possible: [null, B, A] }),
    ]
    for (const one of sound) assert.deepEqual(judgeLook(one), { content: A })
    assert.deepEqual(judgeLook(look({ status: 404 }, { possible: [A, null] })), { content: null })
    const beyond = look({ status: 416 }, { part: { first: 1_000, last: 1_001 } })
    assert.deepEqual(judgeLook(beyond), { content: A })
  })

  const spoilt: Readonly<Record<string, readonly [Look, RegExp]>> = {
    'a file that is gone': [look({ status: 404 }), /1\/a is gone, where .* \(1000 bytes\) must be/],
    'a file that came back': [look({}, { possible: [null] }), /is "[0-9a-f]{64}", where nothing must be/],
    'a file that cannot be read': [look({ status: 500 }), /is answered with 500/],
    'another file': [look({}, { possible: [B] }), /is "[0-9a-f]{64}", where/],
    'a file that ends early': [look({ bytes: A.bytes.subarray(0, 999) }), /999 bytes that are not its own/],
    'a file with bytes of another': [look({ bytes: B.bytes.subarray(0, 1_000) }), /not its own/],
    'the beginning of another file, cut off': [look({ bytes: B.bytes.subarray(0, 9), whole: false }), /not its own/],
    'another part': [look({ status: 206, bytes: A.bytes.subarray(11, 21) }, { part }), /not its own, of 10/],
    'a part that is too long': [look({ status: 206, bytes: A.bytes.subarray(10, 21) }, { part }), /not its own, of 10/],
    'a part that is refused': [look({ status: 416 }, { part }), /has not the bytes that it was asked for/],
  }

  for (const [name, [one, what]] of Object.entries(spoilt)) {
    test(`notices: ${name}`, () => {
      const found = judgeLook(one)
      assert.ok('fault' in found && found.fault.kind === 'loss')
      assert.match(found.fault.what, what)
    })
  }

  test('notices large values without rows, rows without values, and values that no job needs', async () => {
    await using server = await startServer()
    const { data_dir } = server
    assert.deepEqual(strayValues(data_dir), [])
    const db = new Database(databaseOf(data_dir))
    const row = db.prepare('insert into spilled_value (content_key, job_key, size, sha256) values (?, ?, 1, ?)')
    for (const key of ['00/gone', '00/left']) row.run(key, null, 'a'.repeat(64))
    refreshChecksums(db)
    db.close()
    mkdirSync(join(journalFolderPath(data_dir), '00'))
    for (const name of ['left', 'stray']) writeFileSync(join(journalFolderPath(data_dir), '00', name), 'x')
    assert.deepEqual(
      strayValues(data_dir).map(({ kind, what }) => `${kind}: ${what}`),
      [
        'contradiction: no row names the large value 00/stray',
        'loss: the large value 00/gone is missing',
        'contradiction: the large value 00/left was left by a job that needs none: gone',
      ],
    )
    assert.equal(ageValues(data_dir), 2)
    await server.context.runs.retention.sweep()
    assert.deepEqual(strayValues(data_dir), [])
  })

  test('notices files without rows, rows without files, and leftovers', async () => {
    await using server = await startServer()
    const stored = async (text: string) => {
      const { body } = await call<StoredObject>(server, 'PUT', `/api/storage/1/${text}`, { raw: text })
      return contentKey('1', body.sha256)
    }
    const [kept, lost] = [await stored('kept'), await stored('lost')]
    const at = (key: string) => join(server.data_dir, 'storage', 'objects', ...key.split('/'))
    const { data_dir } = server
    assert.deepEqual(strays(data_dir), [])
    rmSync(at(lost))
    writeFileSync(`${at(kept)}0`, 'x')
    writeFileSync(join(data_dir, 'storage', 'incoming', 'half'), 'x')
    writeFileSync(join(data_dir, 'temporary', 'objects', 'old'), 'x')
    assert.deepEqual(
      strays(data_dir).map(({ what }) => what),
      [
        `no row names the file ${kept}0`,
        `the file ${lost} of a row is missing`,
        'the file storage/incoming/half was left',
        'the file temporary/objects/old was left',
      ],
    )
  })
})

describe('the judge of assets', () => {
  /** A folder with two assets and one top-level asset, as a list should show them. */
  function scene() {
    let ticks = 0
    const assets = new Assets(() => ++ticks)
    const box = assets.newBox()
    const [first] = assets.slots
    const one = (name: string, content: Content, parent_id: string | null) =>
      ({ id: `id ${name}`, name, sha256: content === FOLDER ? null : content.sha256, parent_id }) as Asset
    const kept = [
      [first!, A, null],
      [box.slot, FOLDER, null],
      ...box.inside.map((slot) => [slot, B, `id ${box.slot.name}`] as const),
    ] as const
    for (const [{ register }, content] of kept) register.end(register.begin(content), true)
    for (const [slot] of kept) slot.made = true
    const listed = kept.map(([slot, content, parent_id]) => one(slot.name, content, parent_id))
    return { assets, box, listed, first: first!, judged: () => judgeList(assets, listed, () => ++ticks) }
  }

  test('finds nothing wrong with the created assets, and knows them by their ids', () => {
    const { judged, first, box } = scene()
    assert.deepEqual(judged(), [])
    assert.deepEqual([first.id, box.slot.id, box.gone], ['id asset0', 'id box1', false])
  })

  test('accepts both outcomes of an interrupted removal, and removes a folder with its content', () => {
    for (const done of [true, false]) {
      const { judged, box, listed } = scene()
      for (const { register } of [box.slot, ...box.inside]) register.end(register.begin(null), false)
      if (done) listed.splice(1)
      assert.deepEqual(judged(), [])
      assert.equal(box.gone, done)
    }
  })

  const spoilt: Readonly<Record<string, readonly [(one: ReturnType<typeof scene>) => void, RegExp]>> = {
    'an asset that is gone': [({ listed }) => listed.shift(), /^asset0 is gone, which it cannot be/],
    'an asset that is there twice': [({ listed }) => listed.push(listed[0]!), /^asset0 is there 2 times/],
    'an asset with other bytes': [
      ({ listed }) => Object.assign(listed[0]!, { sha256: B.sha256 }),
      /^asset0 is there with/,
    ],
    'an asset that nobody made': [({ listed }) => listed.push({ ...listed[0]!, name: 'x' }), /^x is there, and nobody/],
    'an asset that came back': [
      ({ first }) => first.register.end(first.register.begin(null), true),
      /^asset0 is there/,
    ],
    'an asset without its folder': [
      ({ box, listed }) => {
        for (const { register } of [box.slot, ...box.inside]) register.end(register.begin(null), false)
        listed.splice(1, 2)
      },
      /^box1\.1 is there without its folder/,
    ],
    'a folder that lost a part': [
      ({ box, listed }) => {
        for (const { register } of [box.slot, ...box.inside]) register.end(register.begin(null), false)
        listed.pop()
      },
      /^box1\.1 is gone, and its folder is there/,
    ],
    'an asset in another folder': [
      ({ listed }) => Object.assign(listed[3]!, { parent_id: null }),
      /^box1\.1 lies in null/,
    ],
  }

  for (const [name, [spoil, what]] of Object.entries(spoilt)) {
    test(`notices: ${name}`, () => {
      const one = scene()
      spoil(one)
      assert.match(one.judged().join('\n'), new RegExp(what.source, 'm'))
    })
  }
})

describe('a server without room', () => {
  const call = { method: 'GET', path: '/j1/call/0', ended_at: null } as const
  const told = (job_id: string) =>
    JSON.stringify({ time: '2026-01-01T00:00:01.000Z', job_id, msg: 'the history of a job could not be written' })

  /** Returns the faults of a job whose call was made before and after a second, from what the log says at that second. */
  async function faultsOf(...log: readonly string[]): Promise<readonly string[]> {
    await using counter = await Counter.start('no room')
    const ledger = new Ledger(counter)
    const random = new Random('no room')
    const job = new TrackedJob(plan('reading', 'j1', counter.host, random), 'socket', random)
    ledger.jobs.push(job)
    ledger.interrupt(log)
    const second = Date.parse('2026-01-01T00:00:01.000Z')
    const calls = [second - 100, second + 900].map((begun_at) => ({ ...call, begun_at, since: begun_at - 20 }))
    const evidence = { ...ledger.evidence(job, { snapshot: null, log: [], saved: [] }), calls }
    return judge(evidence).map(({ what }) => what)
  }

  test('interrupts the jobs that its log names, and no others', async () => {
    const twice = 'GET /j1/call/0 ran twice without a kill in between'
    assert.ok(!(await faultsOf('a line', told('j1'))).includes(twice))
    assert.ok((await faultsOf(told('j2'))).includes(twice))
  })
})

describe('the judge of refusals', () => {
  async function ledgerOf(use: (ledger: Ledger, job: TrackedJob) => ReadonlySet<string>): Promise<readonly string[]> {
    await using counter = await Counter.start('refusals')
    const ledger = new Ledger(counter)
    const random = new Random('refusals')
    const job = new TrackedJob(plan('fast', 'j1', counter.host, random), 'socket', random)
    ledger.jobs.push(job)
    ledger.judgeRefusals(use(ledger, job))
    return ledger.complaints
  }

  test('finds nothing wrong with a refusal that stored nothing, nor with a lost answer whose job is stored', async () => {
    const complaints = await ledgerOf((ledger, job) => {
      job.refused = true
      ledger.lost++
      return new Set(['job_of_a_lost_answer'])
    })
    assert.deepEqual(complaints, [])
  })

  test('notices a job that is stored though its submission was refused', async () => {
    const [complaint] = await ledgerOf((_, job) => {
      job.refused = true
      return new Set(['j1'])
    })
    assert.match(complaint!, /^j1 was refused, and is stored all the same/)
  })

  test('notices a job that no answer named', async () => {
    const [complaint] = await ledgerOf(() => new Set(['job_that_nobody_knows']))
    assert.match(complaint!, /^1 jobs are stored that nobody was told of, and 0 submissions had no answer/)
  })

  test('accepts a stored job that an error named', async () => {
    const jobs: TrackedJob[] = []
    const complaints = await ledgerOf((_, job) => {
      job.named = true
      jobs.push(job)
      return new Set(['j1'])
    })
    assert.deepEqual([complaints, jobs[0]!.acknowledged], [[], true])
  })
})
