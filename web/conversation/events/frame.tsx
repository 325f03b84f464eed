import { createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { Session } from '../session.ts'

export interface TimelineActions {
  forkFrom(eventId: string): void
  goBackTo(eventId: string): void
}

/** What every entry may use. */
export interface Frame {
  session: Session
  actions: TimelineActions | undefined
  /** What somebody opened or closed: kept here, for entries come and go as they are scrolled past. */
  folds: Map<string, boolean>
  /** Shows the events of another branch, or hides them again. */
  toggleAside(id: string): void
}

export const FrameContext = createContext<Frame | undefined>(undefined)

export function useFrame(): Frame {
  const frame = useContext(FrameContext)
  if (!frame) throw new Error('There is no timeline around this entry')
  return frame
}

/** Whether something is open, remembered for as long as the timeline is there. */
export function useFold(id: string, isOpenAtFirst: boolean): [boolean, (open: boolean) => void] {
  const { folds } = useFrame()
  const [chosen, setChosen] = useState(() => folds.get(id))
  return [
    chosen ?? isOpenAtFirst,
    open => {
      folds.set(id, open)
      setChosen(open)
    },
  ]
}
