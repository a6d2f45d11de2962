// The tasks for documents. Each module, with its library, is loaded at its first use.
import type { MediaTaskHandlers } from '../../task-runner.ts'

export const documentTasks: MediaTaskHandlers = {
  'document.pdfInfo': async (files, params) => (await import('./pdf.ts')).readPdfInfo(files, params),
  'document.pdfText': async (files, params) => (await import('./pdf.ts')).readPdfText(files, params),
  'document.pdfPages': async (files, params) => (await import('./pdf.ts')).drawPdfPages(files, params),
  'document.docxText': async (files, params) => (await import('./docx.ts')).readDocxText(files, params),
  'document.readXlsx': async (files, params) => (await import('./xlsx-reader.ts')).readXlsx(files, params),
  'document.writeXlsx': async (files, params) => (await import('./xlsx-writer.ts')).writeXlsx(files, params),
}
