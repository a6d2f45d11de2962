// Tasks on tables. Each reads its library when it is first asked for.
import type { Tasks } from '../serving.ts'

export const dataTasks: Tasks = {
  'data.query': async (_files, params) => (await import('./data-query.ts')).queried(params as never),
  'data.readParquet': async ([bytes], params) => (await import('./data-parquet.ts')).tableOf(bytes!, params as never),
  'data.writeParquet': async (_files, params) => (await import('./data-parquet-write.ts')).parquetOf(params as never),
}
