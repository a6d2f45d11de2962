// `--json-events`: writes a run as the frames that `/ws` would send of it, a JSON object a line.
import type { Config } from '../../config.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import type { RunObserver } from '../../engine/runtime/run/observer.ts'
import { JobFrames } from '../../jobs/history/job-frames.ts'
import { createRunRecorder } from '../../jobs/run/recorder.ts'
import { createLog } from '../../log.ts'
import { systemPlatform } from '../../platform.ts'
import { Redactor } from '../../redaction/redactor.ts'
import { RedactedStream } from '../../redaction/streams/redacted-stream.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import { EXIT_CODES, type TerminalOutput } from '../shared/terminal.ts'
import { RedactedOutputs } from './redacted-outputs.ts'

const STATUSES: Readonly<Record<number, 'completed' | 'failed'>> = {
  [EXIT_CODES.completed]: 'completed',
  [EXIT_CODES.failed]: 'failed',
  [EXIT_CODES.timed_out]: 'failed',
}

export interface JsonEventWriter {
  readonly observer: RunObserver
  /** Writes the last frame; `code` is the exit code. */
  end(code: number, error: string | null, seconds: number): void
}

type LogSettings = Pick<Config, 'log_level' | 'known_secrets'>

interface RecordedRun {
  /** The label in the frames. */
  readonly name: string
  readonly plan: Plan
  readonly redactor: Redactor
}

/** Causes of faults go to the log, as on a server. */
export function createJsonEventWriter(
  { name: workflow_id, plan, redactor }: RecordedRun,
  output: TerminalOutput,
  { log_level, known_secrets }: LogSettings,
): JsonEventWriter {
  const job_id = systemPlatform().id('job')
  const frames = new JobFrames(job_id, workflow_id)
  const write = (frame: object) => output.write(`${stringifyWithBase64(frame)}\n`)
  const outputs = new RedactedOutputs(plan, redactor)
  const toPublished = (value: unknown) => ({ value, asset: null, extras: [], text: null })
  const sink = {
    row: { id: job_id, workflow_id },
    append: (_event: unknown, frame: object | null) => frame && write(frame),
    provisional: (frame: () => object) => write(frame()),
    toldNode: () => false,
    publish: (_node_id: string, name: string, value: unknown) => outputs.add(name, value).map(toPublished),
    publishRest: (name: string, whole: boolean) => outputs.end(name, whole).map(toPublished),
    redact: <T>(value: T) => redactor.value(value),
    redactMessage: (text: string) => redactor.message(text),
    textStream: () => new RedactedStream(redactor),
    unwritable() {},
  }
  write(frames.jobUpdate('running'))
  return {
    observer: createRunRecorder(sink, createLog(log_level, new Redactor(known_secrets))),
    end(code, error, duration) {
      write(frames.jobUpdate(STATUSES[code] ?? 'cancelled', { ...(error === null ? {} : { error }), duration }))
    },
  }
}
