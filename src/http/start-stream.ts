import type { ServerResponse } from 'node:http'
import type { AppConversationStartTask } from '../api/app-conversations.ts'
import { isOver, type StartTask } from '../app-conversation/start-task.ts'
import type { StartTasks } from '../app-conversation/start-tasks.ts'
import { Streamed } from './reply.ts'
import { HEARTBEAT_MS } from './sse.ts'

type View = (task: StartTask) => AppConversationStartTask

/**
 * Tells every state of a start from `task` on, each once, and `end`s after the last. What happens between the look and the watch is
 * found by looking again.
 */
function follow(
  tasks: StartTasks,
  task: StartTask,
  out: ServerResponse,
  tell: (task: StartTask) => void,
  end: () => void,
) {
  let version = 0
  const offer = (seen: StartTask) => {
    if (seen.version <= version) return
    version = seen.version
    tell(seen)
    if (!isOver(seen.record)) return
    unwatch()
    end()
  }
  const unwatch = tasks.watch(task.id, offer)
  out.once('close', unwatch)
  offer(task)
  tasks.get(task.id).then(offer, () => out.destroy())
}

/** `[`, the tasks with a comma between, `]`: whole when it ends, and readable as it grows. */
export const growingArray = (tasks: StartTasks, task: StartTask, view: View): Streamed =>
  new Streamed('application/json', out => {
    let separator = '[\n'
    const tell = (seen: StartTask) => {
      out.write(separator + JSON.stringify(view(seen)))
      separator = ',\n'
    }
    follow(tasks, task, out, tell, () => out.end(']'))
  })

export const taskStream = (tasks: StartTasks, task: StartTask, view: View): Streamed =>
  new Streamed('text/event-stream', out => {
    const heartbeat = setInterval(() => out.write(': still here\n\n'), HEARTBEAT_MS)
    out.once('close', () => clearInterval(heartbeat))
    const tell = (seen: StartTask) => out.write(`id: ${seen.version}\ndata: ${JSON.stringify(view(seen))}\n\n`)
    follow(tasks, task, out, tell, () => out.end())
  })
