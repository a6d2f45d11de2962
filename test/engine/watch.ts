// A thread that watches the random runs of this process: it reports a hanging run by its seed and the current activity, and ends the
// process. Without it, the run of all tests would never end.
import { Worker } from 'node:worker_threads'

/** The time limit of one case, in milliseconds: cases that wait in vain give up long before. */
const LIMIT_MS = 300_000

/** Begun cases; the seed of the current cases; the number of the current case, or -1 between cases. */
const shared = new Int32Array(new SharedArrayBuffer(12))

const WATCH = `
  import { Session } from 'node:inspector'
  import { writeSync } from 'node:fs'
  import { workerData } from 'node:worker_threads'
  const { shared, limit_ms } = workerData
  const [BEGUN, SEED, NUMBER] = [0, 1, 2]
  const told = (text) => writeSync(2, text + '\\n')
  function end() {
    process.kill(process.pid, 'SIGKILL')
  }
  function tellWhere() {
    const session = new Session()
    session.connectToMainThread()
    const urls = new Map()
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
    session.on('Debugger.paused', ({ params }) => {
      for (const { functionName, location } of params.callFrames) {
        told('  ' + functionName + ' ' + urls.get(location.scriptId) + ':' + (location.lineNumber + 1))
      }
      end()
    })
    session.post('Debugger.enable')
    session.post('Debugger.pause')
  }
  let seen = -1
  let since = performance.now()
  setInterval(() => {
    if (shared[NUMBER] < 0 || shared[BEGUN] !== seen) {
      seen = shared[BEGUN]
      since = performance.now()
    } else if (performance.now() - since > limit_ms) {
      since = Infinity
      told('Case ' + shared[NUMBER] + ' of SVC_TEST_SEED=' + shared[SEED] + ' takes longer than ' + limit_ms / 1000 + ' s, at:')
      tellWhere()
      setTimeout(end, 10_000)
    }
  }, limit_ms / 30)`

let worker: Worker | null = null

export class Watch {
  readonly #seed: number

  constructor(seed: number, limit_ms = LIMIT_MS) {
    this.#seed = seed
    worker ??= new Worker(new URL(`data:text/javascript,${encodeURIComponent(WATCH)}`), {
      workerData: { shared, limit_ms },
    })
    worker.unref()
  }

  /** Reports that case `number` begins. */
  begin(number: number): void {
    shared[1] = this.#seed
    shared[2] = number
    Atomics.add(shared, 0, 1)
  }

  /** Reports that no case is running. */
  end(): void {
    shared[2] = -1
  }
}
