// Idle workers: which task gets one, and how long they are kept.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type IdleWorker, IdleWorkers } from '../../src/workers/idle-workers.ts'
import { until } from '../helpers/server.ts'

class Worker implements IdleWorker {
  readonly #gone = Promise.withResolvers<void>()
  readonly whenExited = this.#gone.promise
  isReusable = true
  held = true

  setKeepAlive(held: boolean): void {
    this.held = held
  }

  kill(): void {
    this.isReusable = false
    this.#gone.resolve()
  }
}

function workers(limits: { kept: number; idle_ms: number }) {
  const started: Worker[] = []
  const idle = new IdleWorkers(limits, () => {
    const worker = new Worker()
    started.push(worker)
    return worker
  })
  return { idle, started }
}

const LONG = { kept: 0, idle_ms: 3_600_000 }

describe('idle workers', () => {
  test('are reused, the last one first, and do not keep the process alive meanwhile', () => {
    const { idle, started } = workers(LONG)
    const [first, second] = [idle.take(false), idle.take(false)]
    idle.addIdle(first)
    idle.addIdle(second)
    assert.equal(first.held, false)
    assert.equal(idle.take(false), second)
    assert.equal(second.held, true)
    assert.equal(idle.take(false), first)
    assert.equal(started.length, 2)
    idle.addIdle(first)
    idle.clear()
    assert.equal(first.isReusable, false)
  })

  test('are prepared if there is none, and the last is reserved for others', () => {
    const { idle, started } = workers(LONG)
    const spare = idle.prepareSpare()!
    assert.equal(spare.held, false)
    assert.equal(idle.prepareSpare(), null)
    for (let i = 0; i < 3; i++) assert.notEqual(idle.take(true), spare)
    assert.equal(started.length, 4)
    idle.addIdle(started[1]!)
    assert.equal(idle.take(true), started[1])
    assert.equal(idle.take(false), spare)
  })

  test('are not reused once they are damaged or have ended', async () => {
    const { idle, started } = workers(LONG)
    const [worn, dead] = [idle.take(false), idle.take(false)]
    idle.addIdle(worn)
    idle.addIdle(dead)
    worn.isReusable = false
    dead.kill()
    await dead.whenExited
    assert.equal(idle.take(false), started[2])
    await worn.whenExited
    assert.notEqual(idle.prepareSpare(), null)
    idle.clear()
  })

  test('are ended after a time, except those that are kept', async () => {
    const { idle } = workers({ kept: 1, idle_ms: 1 })
    const [kept, further] = [idle.take(false), idle.take(false)]
    idle.addIdle(kept)
    idle.addIdle(further)
    const held = setInterval(() => {}, 1_000)
    await until('the further one to end', () => !further.isReusable)
    clearInterval(held)
    assert.equal(kept.isReusable, true)
    assert.equal(idle.take(false), kept)
  })
})
