// `--json-events`: a run as the frames that `/ws` would send of it, a JSON object a line.
import type { Config } from '../config.ts'
import type { RunObserver } from '../engine/observer.ts'
import { recorder } from '../jobs/recorder.ts'
import { jsonText } from '../json.ts'
import { createLog } from '../log.ts'
import { systemPlatform } from '../platform.ts'
import { Redactor } from '../redaction/redactor.ts'
import { EXIT, type Output } from './terminal.ts'

const STATUSES: Readonly<Record<number, string>> = {
  [EXIT.completed]: 'completed',
  [EXIT.failed]: 'failed',
  [EXIT.timed_out]: 'failed',
}

export interface JsonEvents {
  readonly observer: RunObserver
  /** The last frame; `code` is the exit code. */
  end(code: number, error: string | null, seconds: number): void
}

type Told = Pick<Config, 'log_level' | 'known_secrets'>

/** `workflow_id` is the label that the frames carry; causes of faults go to the log, as on a server. */
export function jsonEvents(workflow_id: string, output: Output, { log_level, known_secrets }: Told): JsonEvents {
  const of = { job_id: systemPlatform().id('job'), workflow_id }
  const write = (frame: object) => output.write(`${jsonText(frame)}\n`)
  const sink = {
    row: { id: of.job_id, workflow_id },
    append: (_event: unknown, frame: object | null) => frame && write(frame),
    provisional: (frame: () => object) => write(frame()),
    toldNode: () => false,
    publish: (_node_id: string, _output_name: string, value: unknown) => [
      { value, asset: null, extras: [], text: null },
    ],
    publishRest: () => [],
    redact: <T>(value: T) => value,
    redactMessage: (text: string) => text,
    textStream: () => ({ push: (text: string) => text, end: () => '', cut: () => '' }),
    unwritable() {},
  }
  write({ type: 'job_update', status: 'running', ...of })
  return {
    observer: recorder(sink, createLog(log_level, new Redactor(known_secrets))),
    end(code, error, duration) {
      const status = STATUSES[code] ?? 'cancelled'
      write({ type: 'job_update', status, ...of, ...(error === null ? {} : { error }), duration })
    },
  }
}
