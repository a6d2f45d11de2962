// The tasks for tables. Each module, with its library, is loaded at its first use.
import type { MediaTaskHandlers } from '../../task-runner.ts'

export const dataTasks: MediaTaskHandlers = {
  'data.query': async (_files, params) => (await import('./sql-query.ts')).runQuery(params as never),
  'data.readParquet': async ([bytes], params) =>
    (await import('./parquet/reader.ts')).readParquet(bytes!, params as never),
  'data.writeParquet': async (_files, params) => (await import('./parquet/writer.ts')).writeParquet(params as never),
}
