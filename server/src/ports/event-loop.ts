/** Does the work in the next turn of the event loop, behind what sockets and timers bring to it. */
export const inNextTurn = (work: () => void): void => void setImmediate(work);
